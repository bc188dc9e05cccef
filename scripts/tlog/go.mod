module trefoil.example/tlog

go 1.26.0

require (
	filippo.io/torchwood v0.8.0
	github.com/cloudflare/circl v1.6.5
	github.com/fxamacker/cbor/v2 v2.10.0
	golang.org/x/mod v0.43.0
)

require (
	github.com/x448/float16 v0.8.4 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/sync v0.18.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
