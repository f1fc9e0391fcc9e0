// What the modules of the scenario share: names, records, and a consumer that reads so many.
'use strict'

const assert = require('node:assert/strict')
const { randomUUID } = require('node:crypto')

const PARTITIONS = 6
const COUNT = 300
const WAIT_MS = 20000

const newName = kind => `${kind}-${randomUUID()}`
const values = prefix => [...Array(COUNT).keys()].map(n => `${prefix}${n}|`.repeat(10))

// Each key's records are in one partition and in the order sent; all are there.
function check(found, texts) {
  const read = new Map()
  const sent = new Map()
  const places = new Map()
  for (const { partition, key, value } of found) {
    read.set(key, [...(read.get(key) || []), value])
    places.set(key, (places.get(key) || new Set()).add(partition))
  }
  texts.forEach((value, n) => sent.set(`key-${n % 17}`, [...(sent.get(`key-${n % 17}`) || []), value]))
  assert.deepEqual(read, sent)
  for (const partitions of places.values()) {
    assert.equal(partitions.size, 1)
  }
}

// Ask again and again: what a broker has promised may take a moment to be seen.
async function until(what, done) {
  for (const end = Date.now() + WAIT_MS; !(await done()); await new Promise(go => setTimeout(go, 20))) {
    if (Date.now() > end) {
      throw new Error(`not within ${WAIT_MS} ms: ${what}`)
    }
  }
}

// The next *count* messages of a topic, by a member of a group; *seek* are offsets to begin at.
async function collect(kafka, topic, count, { fromBeginning, groupId, commit, seek, ...options } = {}) {
  const consumer = kafka.consumer({ groupId: groupId || newName('group'), maxWaitTimeInMs: 100, ...options })
  const found = []
  let done
  const enough = new Promise((resolve, reject) => {
    done = resolve
    setTimeout(() => reject(new Error(`only ${found.length} of ${count} messages came`)), WAIT_MS).unref()
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: Boolean(fromBeginning) })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message: { offset, key, value } }) => {
      if (found.length === count) {
        return
      }
      found.push({ partition, offset, key: key.toString(), value: value.toString() })
      if (commit) {
        const next = (BigInt(offset) + 1n).toString()
        await consumer.commitOffsets([{ topic, partition, offset: next, metadata: `after ${offset}` }])
      }
      if (found.length === count) {
        done()
      }
    },
  })
  for (const { partition, offset } of seek || []) {
    consumer.seek({ topic, partition, offset })
  }
  try {
    await enough
  } finally {
    await consumer.disconnect()
  }
  return found
}

module.exports = { COUNT, PARTITIONS, newName, values, check, until, collect }
