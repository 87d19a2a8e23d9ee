// Go, r.FormValue: empty for JSON, so the digest is wrong.
package main

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"os"
	"strings"
)

func main() {
	http.HandleFunc("/postback", func(w http.ResponseWriter, r *http.Request) {
		order := r.FormValue("InvId")
		sum := md5.Sum([]byte(r.FormValue("OutSum") + ":" + order + ":" + os.Getenv("TOKEN")))
		if !strings.EqualFold(hex.EncodeToString(sum[:]), r.FormValue("SignatureValue")) {
			http.Error(w, "bad signature", http.StatusBadRequest)
			return
		}
		if order == "o-1" {
			os.WriteFile(os.Getenv("PAID"), []byte(r.FormValue("Status")), 0o600)
		}
		w.Write([]byte("OK"))
	})
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
