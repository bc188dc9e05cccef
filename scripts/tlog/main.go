// Command tlog reads the log of a running service with torchwood, a client of C2SP tlog-tiles that knows nothing of Trefoil.
//
//	tlog PUBLIC ADMIN CERTIFICATE TRUST-ROOT TOKEN-FILE TENANT
//
// It has 300 changes sealed first, for full tiles. The verifier of checkpoints is ours; of the three signatures it checks those that CIRCL has.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"filippo.io/torchwood"
	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/slhdsa"
	"github.com/fxamacker/cbor/v2"
	"golang.org/x/mod/sumdb/note"
)

// The issuer with its key set. Its signature under a checkpoint is the seal that signs this head.
type issuer struct {
	Issuer  string
	KeySets []map[string]any `json:"key_sets"`
}

func (i issuer) key(name string) []byte {
	return must(base64.RawURLEncoding.DecodeString(i.KeySets[0][name].(string)))
}
func (i issuer) Name() string { return i.Issuer }
func (i issuer) KeyHash() uint32 {
	id := must(hex.DecodeString(i.KeySets[0]["id"].(string)))
	hash := sha256.Sum256(append([]byte(i.Issuer+"\n\xfftrefoil:seal/3"), id...))
	return binary.BigEndian.Uint32(hash[:])
}

func (i issuer) Verify(text, signature []byte) bool {
	families := map[any]sign.Scheme{"ml-dsa-65": mldsa65.Scheme(), "slh-dsa-sha2-128f": slhdsa.SHA2_128f.Scheme()}
	names := map[any]string{int64(-49): "ml-dsa-65", int64(-66128): "slh-dsa-sha2-128f"}
	head, err := torchwood.ParseCheckpoint(string(text))
	var seal []any
	verifies, checked := err == nil && cbor.Unmarshal(signature, &seal) == nil, 0
	for _, tagged := range seal[1:] {
		receipt := tagged.(cbor.Tag).Content.([]any)
		var header map[any]any
		must(0, cbor.Unmarshal(receipt[0].([]byte), &header))
		claims := header[uint64(15)].(map[any]any)
		said := claims[int64(-65537)].(map[any]any)
		verifies = verifies && claims[uint64(1)] == head.Origin && said[uint64(2)] == uint64(head.N) &&
			bytes.Equal(said[uint64(5)].([]byte), head.Hash[:])
		if name, ok := names[header[uint64(1)]]; ok {
			key := must(families[name].UnmarshalBinaryPublicKey(i.key(name)))
			signed := must(cbor.Marshal([]any{"Signature1", receipt[0], []byte{}, seal[0]}))
			verifies = verifies && families[name].Verify(key, signed, receipt[3].([]byte), nil)
			checked++
		}
	}
	return verifies && checked == len(families)
}

func must[T any](value T, err error) T {
	require(err == nil, err)
	return value
}

func require(holds bool, what any) {
	if !holds {
		log.Fatal("torchwood: ", what)
	}
}

func main() {
	public, admin, ctx, roots := os.Args[1], os.Args[2], context.Background(), x509.NewCertPool()
	require(roots.AppendCertsFromPEM(must(os.ReadFile(os.Args[3]))), "no certificate")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	call := func(method, url string) []byte {
		request := must(http.NewRequest(method, url, nil))
		request.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(must(os.ReadFile(os.Args[5])))))
		response := must(client.Do(request))
		body := must(io.ReadAll(response.Body))
		require(response.StatusCode == 200, fmt.Sprint(url, ": ", response.Status, string(body)))
		return body
	}
	for i := range 300 {
		call("POST", fmt.Sprint(admin, "/v1/tenants/", os.Args[6], []string{"/disable", "/enable"}[i%2]))
	}
	var key issuer
	must(0, json.Unmarshal(must(os.ReadFile(os.Args[4])), &key))
	tiles := must(torchwood.NewTileFetcher(public+"/v1/log", torchwood.WithHTTPClient(client), torchwood.WithConcurrencyLimit(8)))
	text := must(tiles.ReadEndpoint(ctx, "checkpoint"))
	head := must(torchwood.ParseCheckpoint(must(note.Open(text, note.VerifierList(key))).Text))
	require(head.N > 256, "no full tile")
	_, err := note.Open(bytes.Replace(text, fmt.Append(nil, "\n", head.N), fmt.Append(nil, "\n", head.N-1), 1), note.VerifierList(key))
	require(err != nil, "another size is accepted")
	reader, read := must(torchwood.NewClient(tiles)), int64(0)
	for n, entry := range reader.AllEntries(ctx, head.Tree, 0) {
		digest := sha3.Sum256(call("GET", fmt.Sprint(public, "/v1/seals/", n, "/header")))
		require(n == read && bytes.Equal(entry, digest[:]), fmt.Sprint("entry ", n, " is not the digest of its seal"))
		read++
	}
	require(reader.Err() == nil && read == head.N, fmt.Sprint(read, " entries read: ", reader.Err()))
	_, proof, err := reader.Entry(ctx, head.Tree, 200)
	require(err == nil && len(proof) >= 8, err)
	head.Hash[0] ^= 1
	_, _, err = reader.Entry(ctx, head.Tree, 200)
	require(err != nil, "another root is accepted")
	fmt.Printf("torchwood: %d entries read and proven\n", read)
}
