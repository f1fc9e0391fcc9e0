// A member of a group, until standard input ends.
'use strict'

async function run(kafka, say, groupId, topic, sessionMs) {
  const session = Number(sessionMs)
  const timing = session ? { sessionTimeout: session, heartbeatInterval: 300, maxWaitTimeInMs: 200 } : {}
  const consumer = kafka.consumer({ groupId, ...timing })
  const left = new Promise(resolve => process.stdin.on('end', resolve).resume())
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => say({ owns: payload.memberAssignment[topic] || [] }))
  consumer.on(consumer.events.REBALANCING, () => say({ owns: [] }))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isStale }) => {
      if (isStale() || !batch.messages.length) {
        return
      }
      say({ read: batch.messages.map(message => [batch.partition, Number(message.offset)]) })
      resolveOffset(batch.lastOffset())
      const offset = (BigInt(batch.lastOffset()) + 1n).toString()
      await consumer.commitOffsets([{ topic, partition: batch.partition, offset }])
      await heartbeat()
    },
  })
  await left
  await consumer.disconnect()
}

module.exports = { run }
