module github.com/weirhq/weir/cmd/weir

go 1.26.0

replace (
	github.com/weirhq/weir => ../../
	github.com/weirhq/weir/policy => ../../policy
)
