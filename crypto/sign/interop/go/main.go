// Command interop checks the signatures of Trefoil's signer with CIRCL, and makes signatures for Trefoil to check.
//
//	interop OURS.json THEIRS.json
//
// OURS is a list of {family, public_key, message, signature} in hexadecimal. Every signature of a family that CIRCL has
// must verify, and must not with one bit flipped. THEIRS gets one signature of each such family under a fresh key.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cloudflare/circl/sign"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/slhdsa"
)

type vector struct {
	Family    string `json:"family"`
	PublicKey string `json:"public_key"`
	Message   string `json:"message"`
	Signature string `json:"signature"`
}

// CIRCL has no Falcon.
var schemes = map[string]sign.Scheme{
	"ml-dsa-65":         mldsa65.Scheme(),
	"slh-dsa-sha2-128f": slhdsa.SHA2_128f.Scheme(),
}

func main() {
	if len(os.Args) != 3 {
		fail("usage: interop OURS.json THEIRS.json")
	}
	checked, err := check(os.Args[1])
	if err != nil {
		fail(err)
	}
	if err := write(os.Args[2]); err != nil {
		fail(err)
	}
	fmt.Printf("circl: %d signatures of ours verify\n", checked)
}

func fail(why any) {
	fmt.Fprintln(os.Stderr, "circl:", why)
	os.Exit(1)
}

func check(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		return 0, err
	}
	checked := map[string]int{}
	for i, v := range vectors {
		scheme, ok := schemes[v.Family]
		if !ok {
			continue
		}
		var bytes [3][]byte
		for field, digits := range []string{v.PublicKey, v.Message, v.Signature} {
			if bytes[field], err = hex.DecodeString(digits); err != nil {
				return 0, err
			}
		}
		key, err := scheme.UnmarshalBinaryPublicKey(bytes[0])
		if err != nil {
			return 0, fmt.Errorf("vector %d, %s: %w", i, v.Family, err)
		}
		if !scheme.Verify(key, bytes[1], bytes[2], nil) {
			return 0, fmt.Errorf("vector %d: our %s signature does not verify", i, v.Family)
		}
		bytes[2][len(bytes[2])/2] ^= 1
		if scheme.Verify(key, bytes[1], bytes[2], nil) {
			return 0, fmt.Errorf("vector %d: a changed %s signature verifies", i, v.Family)
		}
		checked[v.Family]++
	}
	total := 0
	for family := range schemes {
		if checked[family] == 0 {
			return 0, fmt.Errorf("no %s signature in %s", family, path)
		}
		total += checked[family]
	}
	return total, nil
}

func write(path string) error {
	var vectors []vector
	for family, scheme := range schemes {
		public, secret, err := scheme.GenerateKey()
		if err != nil {
			return err
		}
		encoded, err := public.MarshalBinary()
		if err != nil {
			return err
		}
		message := []byte("signed by circl with " + family)
		signature := scheme.Sign(secret, message, nil)
		vectors = append(vectors, vector{
			family, hex.EncodeToString(encoded), hex.EncodeToString(message), hex.EncodeToString(signature),
		})
	}
	text, err := json.Marshal(vectors)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
