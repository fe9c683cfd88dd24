package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"

	"github.com/avalanched/avalanched/internal/watch"
)

// TLSFiles are PEM files that a server proves with who it is, and tells by who its
// clients are.
type TLSFiles struct {
	// Cert is the server's certificate, and those between it and the root.
	Cert string
	// Key is the private key of the certificate.
	Key string
	// ClientCA has the root certificates of clients. Empty, clients need no
	// certificate.
	ClientCA string
}

// maxPEMSize is room for some hundred certificates.
const maxPEMSize = 1 << 20

// WatchTLS reads TLS files, which must be usable and fit together, and follows their
// changes until Close. Changed files that cannot be used are refused. Connections
// that are open stay as they are. onReload is told how each reload ended.
func WatchTLS(files TLSFiles, log *slog.Logger, onReload func(error)) (*watch.Value[tls.Config], error) {
	paths := []string{files.Cert, files.Key}
	if files.ClientCA != "" {
		paths = append(paths, files.ClientCA)
	}
	return watch.Follow(watch.Config[tls.Config]{
		What:     "TLS files",
		Paths:    paths,
		MaxBytes: maxPEMSize,
		Parse:    parseTLS,
		Logger:   log,
		OnReload: func(inForce *tls.Config, err error) {
			if err != nil {
				log.Error("the TLS files are refused; those in force stay in force", "paths", paths, "error", err)
			} else {
				leaf := inForce.Certificates[0].Leaf
				log.Info("TLS files reloaded", "paths", paths, "subject", leaf.Subject.String(), "not_after", leaf.NotAfter)
			}
			onReload(err)
		},
	})
}

// parseTLS makes a configuration of a certificate, its key and, if there is a third
// file, the root certificates of clients.
func parseTLS(contents [][]byte, _ *tls.Config) (*tls.Config, error) {
	certificate, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		// Every client library of the last years knows 1.3, and there is nothing in it
		// to configure wrongly.
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{certificate},
	}
	if len(contents) > 2 {
		config.ClientCAs = x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return nil, errors.New("the file of client CAs has no certificate in PEM")
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}

// tlsConfig follows the configuration in force. The protocols are those that a
// client may choose from by ALPN.
func tlsConfig(current func() *tls.Config, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			config := current().Clone()
			config.NextProtos = protocols
			return config, nil
		},
	}
}

// Check tells what is wrong with the names, by flag.
func (f TLSFiles) Check() error {
	switch {
	case f.Cert != "" && f.Key == "":
		return fmt.Errorf("--tls-cert=%s: needs --tls-key", f.Cert)
	case f.Key != "" && f.Cert == "":
		return fmt.Errorf("--tls-key=%s: needs --tls-cert", f.Key)
	case f.ClientCA != "" && f.Cert == "":
		return fmt.Errorf("--tls-client-ca=%s: needs --tls-cert and --tls-key", f.ClientCA)
	default:
		return nil
	}
}
