package main

import (
	"context"
	"io"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// owner knows the partitions of a member and tells of each change.
type owner struct {
	sync.Mutex
	partitions map[int32]bool
}

func (o *owner) change(places map[string][]int32, here bool) {
	o.Lock()
	defer o.Unlock()
	for _, partitions := range places {
		for _, p := range partitions {
			o.partitions[p] = here
		}
	}
	owned := []int{}
	for p, mine := range o.partitions {
		if mine {
			owned = append(owned, int(p))
		}
	}
	sort.Ints(owned)
	say(map[string]any{"owns": owned})
}

// member is one of a group until standard input ends; the balancer is the client's own, cooperative-sticky.
func (s scenario) member(group, topic, sessionMs string) error {
	o := &owner{partitions: map[int32]bool{}}
	assigned := func(_ context.Context, _ *kgo.Client, places map[string][]int32) { o.change(places, true) }
	revoked := func(_ context.Context, _ *kgo.Client, places map[string][]int32) { o.change(places, false) }
	options := []kgo.Opt{
		kgo.OnPartitionsAssigned(assigned), kgo.OnPartitionsRevoked(revoked), kgo.OnPartitionsLost(revoked),
		kgo.BlockRebalanceOnPoll(),
	}
	session, err := strconv.Atoi(sessionMs)
	if err != nil {
		return err
	}
	if session > 0 {
		options = append(options, kgo.SessionTimeout(time.Duration(session)*time.Millisecond))
		options = append(options, kgo.HeartbeatInterval(300*time.Millisecond))
	}
	client := s.client(s.grouped(group, topic, options...)...)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		process(fetches)
		if fetches.NumRecords() > 0 {
			// An error is a rebalance: whoever gets the partition reads these again.
			_ = client.CommitUncommittedOffsets(context.Background())
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}

func process(fetches kgo.Fetches) {
	places := [][]int64{}
	fetches.EachRecord(func(r *kgo.Record) { places = append(places, []int64{int64(r.Partition), r.Offset}) })
	if len(places) > 0 {
		say(map[string]any{"read": places})
	}
}
