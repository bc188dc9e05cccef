// See pauses.py. Each connection is a transport of its own with Go's settings, over HTTP/1.1.
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

type about struct {
	Url, Ca, Key, Handle, Audience, Embedding string
	Pauses                                    [][]float64
}

func login(client *http.Client, of about) error {
	nonce := make([]byte, 16)
	rand.Read(nonce)
	body, _ := json.Marshal(map[string]any{
		"handle": of.Handle, "audience": of.Audience, "embedding": of.Embedding, "attestation": "none",
		"nonce": hex.EncodeToString(nonce), "issued_at": time.Now().Unix(),
	})
	request, err := http.NewRequest("POST", of.Url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// Without it Go sends the request again when its connection breaks before the answer.
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+of.Key)
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if !bytes.Contains(said, []byte(`"decision":"match"`)) {
		return fmt.Errorf("%d %s", answer.StatusCode, said)
	}
	return nil
}

func main() {
	var of about
	if err := json.Unmarshal([]byte(os.Args[1]), &of); err != nil {
		panic(err)
	}
	certificate, err := os.ReadFile(of.Ca)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	var (
		lock     sync.Mutex
		running  sync.WaitGroup
		answered int
		lost     = []string{}
	)
	for _, pauses := range of.Pauses {
		running.Go(func() {
			transport := http.DefaultTransport.(*http.Transport).Clone()
			transport.TLSClientConfig = &tls.Config{RootCAs: roots}
			transport.ForceAttemptHTTP2 = false
			transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
			client := &http.Client{Transport: transport}
			for _, seconds := range append([]float64{0}, pauses...) {
				time.Sleep(time.Duration(seconds * float64(time.Second)))
				err := login(client, of)
				lock.Lock()
				if err == nil {
					answered++
				} else {
					lost = append(lost, err.Error())
				}
				lock.Unlock()
			}
		})
	}
	running.Wait()
	said, _ := json.Marshal(map[string]any{"answered": answered, "lost": lost})
	fmt.Println(string(said))
}
