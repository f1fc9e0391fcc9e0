package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// secured is what the program is told of a broker that it logs in at: tests.clients.security.ways.Given.
type secured struct {
	Bootstrap, Way, User, Password, CA, Certificate, Key, Token string
}

// runSecured has the command line of tests.clients.security.
func runSecured(arguments []string) error {
	text, err := os.ReadFile(arguments[1])
	if err != nil {
		return err
	}
	var s secured
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	options, err := s.options()
	if err != nil {
		return err
	}
	say(map[string]any{"version": version()})
	if arguments[0] == "produce" {
		return producePaced(options, arguments[2], arguments[3], arguments[4])
	}
	number, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	return exchange(options, arguments[2], number)
}

func (s secured) options() ([]kgo.Opt, error) {
	ca, err := os.ReadFile(s.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in " + s.CA)
	}
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(s.Bootstrap, ",")...), kgo.DialTLSConfig(config)}
	if s.Way == "mTLS" {
		pair, err := tls.LoadX509KeyPair(s.Certificate, s.Key)
		config.Certificates = []tls.Certificate{pair}
		return options, err
	}
	return append(options, kgo.SASL(s.mechanism())), nil
}

func (s secured) mechanism() sasl.Mechanism {
	switch s.Way {
	case "PLAIN":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()
	}
	return oauth.Oauth(func(context.Context) (oauth.Auth, error) {
		token, err := os.ReadFile(s.Token)
		return oauth.Auth{Token: string(token)}, err
	})
}

func exchange(options []kgo.Opt, topic string, number int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*wait)
	defer cancel()
	producer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer producer.Close()
	var sent, found []string
	for n := 0; n < number; n++ {
		sent = append(sent, fmt.Sprintf("value-%d", n))
		told := producer.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(sent[n])})
		if err := told.FirstErr(); err != nil {
			return err
		}
	}
	more := []kgo.Opt{kgo.ConsumerGroup("group-" + topic), kgo.ConsumeTopics(topic)}
	more = append(more, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	consumer, err := kgo.NewClient(append(more, options...)...)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for _, record := range read(ctx, consumer, number) {
		found = append(found, string(record.Value))
	}
	sort.Strings(sent)
	sort.Strings(found)
	same(found, sent, "records")
	say(map[string]any{"read": len(found)})
	return nil
}

func producePaced(options []kgo.Opt, topic, seconds, rate string) error {
	length, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	perSecond, err := strconv.ParseFloat(rate, 64)
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	number, acknowledged, errs := int(length*perSecond), 0, []string{}
	begun, lock := time.Now(), sync.Mutex{}
	for n := 0; n < number; n++ {
		time.Sleep(time.Until(begun.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))))
		record := &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(n))}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				errs = append(errs, err.Error())
			} else {
				acknowledged++
			}
		})
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	say(map[string]any{"sent": number, "acknowledged": acknowledged, "errors": errs})
	return nil
}
