// The scenario of kafkajs. It has one variant. The command line is tests.clients' own.
'use strict'

const assert = require('node:assert/strict')
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')
const admin = require('./administration')
const member = require('./member')
const { COUNT, PARTITIONS, newName, values, check, collect, until } = require('./shared')

const [, what, bootstrap, ...rest] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING, clientId: 'scenario' })

const say = line => process.stdout.write(JSON.stringify(line) + '\n')

async function produce(topic, texts, options = {}) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const { timestamp, ...send } = options
  const messages = texts.map((value, n) => ({ key: `key-${n % 17}`, value, timestamp }))
  await producer.send({ topic, messages, ...send })
  await producer.disconnect()
}

const readAll = (topic, options) => collect(kafka, topic, COUNT, { fromBeginning: true, ...options })

const features = {
  async 'produce keyed'() {
    const topic = await admin.newTopic(kafka)
    await produce(topic, values('a'))
    check(await readAll(topic), values('a'))
  },

  // The codecs that come with it; the others are packages of their own.
  async 'produce compressed'() {
    const topic = await admin.newTopic(kafka)
    await produce(topic, values('a'), { compression: CompressionTypes.GZIP })
    check(await readAll(topic), values('a'))
    return 'gzip; the others are packages of their own'
  },

  // It has no assignment by hand: a group of one reads all.
  async consume() {
    const topic = await admin.newTopic(kafka)
    await produce(topic, values('a'))
    const found = await readAll(topic)
    for (const { partition, high } of await admin.withAdmin(kafka, a => a.fetchTopicOffsets(topic))) {
      const offsets = found.filter(m => m.partition === partition).map(m => Number(m.offset))
      assert.deepEqual(offsets, [...Array(Number(high)).keys()])
    }
  },

  async commit() {
    const topic = await admin.newTopic(kafka)
    const groupId = newName('group')
    await produce(topic, values('a'))
    const first = await collect(kafka, topic, 100, { fromBeginning: true, groupId, commit: true })
    const told = await admin.withAdmin(kafka, a => a.fetchOffsets({ groupId, topics: [topic] }))
    for (const { partition, offset, metadata } of told[0].partitions) {
      const seen = first.filter(m => m.partition === partition).map(m => Number(m.offset))
      if (seen.length) {
        assert.deepEqual([Number(offset), metadata], [Math.max(...seen) + 1, `after ${Math.max(...seen)}`])
      }
    }
    const second = await collect(kafka, topic, COUNT - first.length, { fromBeginning: true, groupId, commit: true })
    check([...first, ...second], values('a'))
  },

  async 'seek by time'() {
    const topic = await admin.newTopic(kafka)
    const now = Date.now()
    await produce(topic, values('a'), { timestamp: String(now - 60000) })
    await produce(topic, values('b'), { timestamp: String(now) })
    const starts = await admin.withAdmin(kafka, a => a.fetchTopicOffsetsByTimestamp(topic, now - 1000))
    assert.equal(starts.length, PARTITIONS)
    check(await collect(kafka, topic, COUNT, { seek: starts }), values('b'))
  },

  async transactions() {
    const topic = await admin.newTopic(kafka)
    const groupId = newName('group')
    const producer = kafka.producer({ transactionalId: newName('id'), maxInFlightRequests: 1, idempotent: true })
    await producer.connect()
    for (const [prefix, end] of [['a', 'abort'], ['b', 'commit']]) {
      const transaction = await producer.transaction()
      const messages = values(prefix).map((value, n) => ({ key: `key-${n % 17}`, value }))
      await transaction.send({ topic, messages })
      if (end === 'commit') {
        const topics = [{ topic, partitions: [{ partition: 0, offset: '7' }] }]
        await transaction.sendOffsets({ consumerGroupId: groupId, topics })
      }
      await transaction[end]()
    }
    await producer.disconnect()
    check(await readAll(topic, { readUncommitted: false }), values('b'))
    // the client does not wait for stable offsets (KIP-447)
    await until('the offset is committed', async () => {
      const told = await admin.withAdmin(kafka, a => a.fetchOffsets({ groupId, topics: [topic] }))
      return told[0].partitions.find(p => p.partition === 0).offset === '7'
    })
  },

  ...admin.features(kafka, produce, readAll),
}

async function run() {
  say({ version: require('kafkajs/package.json').version })
  for (const feature of rest) {
    try {
      say({ feature, result: 'pass', detail: (await features[feature]()) || '' })
    } catch (error) {
      const where = (error.stack || '').split('\n').find(line => /\.js:/.test(line) && !/node_modules/.test(line)) || ''
      say({ feature, result: 'fail', detail: `${error.name}: ${error.message} ${where.trim()}` })
    }
  }
  process.exit(0)
}

if (what === 'member') {
  member.run(kafka, say, ...rest).then(() => process.exit(0), error => {
    process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  })
} else {
  run()
}
