package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// produceNumbered sends records 0, 1, 2 and so on at a steady pace, each partition in turn, and tells what
// becomes of them. The producer is idempotent, with acks=all: these are the client's defaults.
func (s scenario) produceNumbered(topic, count, rate string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	perSecond, err := strconv.ParseFloat(rate, 64)
	if err != nil {
		return err
	}
	client := s.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	begun, filling, lock := time.Now(), strings.Repeat("x", 100), sync.Mutex{}
	for n := 0; n < number; n++ {
		time.Sleep(time.Until(begun.Add(time.Duration(float64(n) / perSecond * float64(time.Second)))))
		value := fmt.Sprintf("client:%d|%s", n, filling)
		record := &kgo.Record{Topic: topic, Partition: int32(n % partitions), Value: []byte(value)}
		client.Produce(context.Background(), record, func(told *kgo.Record, err error) {
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				say(map[string]any{"failed": []any{n, err.Error()}})
				return
			}
			say(map[string]any{"acknowledged": []any{n, told.Partition, told.Offset}})
		})
	}
	return client.Flush(context.Background())
}
