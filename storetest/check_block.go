package storetest

import (
	"context"

	"github.com/weirhq/weir"
)

// refusedFor wants the next unit of the key k to be refused for so long, by a block.
func (b *bench) refusedFor(what string, l *weir.Limit, wait weir.Micros) {
	d := b.ask(b.take(l, "k", 1))
	if d.Allowed || d.Never || d.RetryAfter != wait {
		b.failf("%s: %s: got %+v, want it refused for %d", what, l, d, wait)
	}
	b.want(what+": whether it is called blocked", d.Blocked, true)
}

// blocks refuses somebody and wants him blocked: for as long as it says, longer each
// time, and no longer for asking meanwhile.
func blocks(r *rig) error {
	return r.try(func(b *bench) {
		const second = 1_000_000
		l := weir.MustLimit("login", "5/s block 10s x 3 max 1m")
		b.want("what passes before", b.drain(l, "k"), int64(5))
		b.want("another key", b.granted(l, "another", 1).Remaining, int64(4)) // the drain ended with a refusal
		b.granted(l, "a third", 5)
		began := b.ask(b.take(l, "a third", 1))
		b.want("the wait of the refusal that begins a block", began.RetryAfter, weir.Micros(10*second))
		b.want("the refusal that begins a block: whether it is called blocked", began.Blocked, true)
		b.clock.Advance(3 * second)
		b.refusedFor("the bucket is full, the block is not over", l, 7*second)
		b.want("left of who is blocked", b.left(l, "k"), int64(0))
		b.want("whether a look at a block is called blocked", b.peek(l, "k", 1).Blocked, true)
		b.want("whether more than ever passes is, beside a block", b.peek(l, "k", 6).Blocked, false)
		b.want("when nothing is left of a block", b.peek(l, "k", 1).ResetAfter, weir.Micros(7*second))
		b.clock.Advance(7*second - 1)
		b.refusedFor("a microsecond before it ends", l, 1)
		b.clock.Advance(1)
		b.want("what passes after it", b.drain(l, "k"), int64(5))
		b.refusedFor("the second block", l, 30*second)
		b.clock.Advance(30 * second)
		b.want("what passes after the second", b.drain(l, "k"), int64(5))
		b.refusedFor("the third, which is the longest", l, 60*second)
		b.clock.Advance(119 * second)
		b.want("what passes long after the third", b.drain(l, "k"), int64(5))
		b.refusedFor("one that came before that was forgotten", l, 60*second)
		b.clock.Advance(120 * second)
		b.want("what passes after that was forgotten", b.drain(l, "k"), int64(5))
		b.refusedFor("a first one again", l, 10*second)
	})
}

// blocksNobody looks at what is no reason to block somebody: to look, to ask for what
// can never pass, to be refused by another limit; and at what ends a block.
func blocksNobody(r *rig) error {
	return r.try(func(b *bench) {
		const minute = 60_000_000
		l, other := weir.MustLimit("login", "2/h block 1m"), slow("other", 1)
		b.drain(other, "k")
		looked := weir.MustLimit("looked", "2/h block 12h")
		b.granted(looked, "k", 2)
		looks := b.peek(looked, "k", 1)
		b.want("a look at more than there is", looks.Allowed, false)
		b.want("a look at more than there is: whether it is called blocked", looks.Blocked, false)
		b.strikesByLooking(weir.MustLimit("struck", "2/h block 1m"))
		b.clock.Advance(30 * minute)
		b.granted(looked, "k", 1)
		b.granted(l, "k", 2)
		never := b.ask(b.take(l, "k", 3))
		b.want("what can never pass", never.Never, true)
		b.want("what can never pass: whether it is called blocked", never.Blocked, false)
		allowed, out := b.call(b.take(l, "another", 1), b.take(other, "k", 1))
		if b.err == nil && (allowed || !out[0].Allowed) {
			b.failf("what another limit refuses: got %t, %+v", allowed, out)
		}
		b.granted(l, "another", 1)
		b.clock.Advance(30 * minute)
		b.granted(l, "k", 1)
		b.refusedFor("a limit that is slower than its block", l, 30*minute)
		b.clock.Advance(minute)
		b.want("left after the block, of a limit without room", b.left(l, "k"), int64(0))
		b.refusedFor("a refusal after a block", l, 29*minute)
		b.want("an error of Reset", b.store.Reset(context.Background(), l, b.key("k")), error(nil))
		b.want("left after Reset", b.left(l, "k"), int64(2))
	})
}

// strikesByLooking looks so that a refusal counts, and wants it to begin a block, and to
// charge nothing.
func (b *bench) strikesByLooking(l *weir.Limit) {
	look := b.take(l, "k", 1)
	look.How = weir.Peek | weir.Strike
	b.want("a look that strikes, at what there is: whether it is allowed", b.ask(look).Allowed, true)
	b.want("left after a look that strikes", b.left(l, "k"), int64(2))
	look.Cost = 3
	b.want("a look that strikes, at more than ever passes: whether it is called blocked", b.ask(look).Blocked, false)
	b.granted(l, "k", 2)
	look.Cost = 1
	b.want("a look that strikes, at more than there is: whether it is called blocked", b.ask(look).Blocked, true)
	b.want("a look after one that struck: whether it is called blocked", b.peek(l, "k", 1).Blocked, true)
}
