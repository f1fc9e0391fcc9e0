// kafkajs at a broker that it logs in at. The command line is that of tests.clients.security.
'use strict'

const assert = require('node:assert/strict')
const fs = require('node:fs')
const { Kafka, logLevel } = require('kafkajs')
const { collect } = require('./shared')

const [what, file, topic, ...rest] = process.argv.slice(2)
const given = JSON.parse(fs.readFileSync(file))
const say = line => process.stdout.write(JSON.stringify(line) + '\n')

function settings() {
  const ssl = { ca: [fs.readFileSync(given.ca)] }
  if (given.way === 'mTLS') {
    return { ssl: { ...ssl, key: fs.readFileSync(given.key), cert: fs.readFileSync(given.certificate) } }
  }
  if (given.way === 'OAUTHBEARER') {
    const oauthBearerProvider = async () => ({ value: fs.readFileSync(given.token, 'utf8') })
    return { ssl, sasl: { mechanism: 'oauthbearer', oauthBearerProvider } }
  }
  return { ssl, sasl: { mechanism: given.way.toLowerCase(), username: given.user, password: given.password } }
}

const kafka = new Kafka({
  brokers: given.bootstrap.split(','),
  clientId: 'secured',
  logLevel: logLevel.NOTHING,
  ...settings(),
})

async function exchange(count) {
  const sent = [...Array(count).keys()].map(n => `value-${n}`)
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic, messages: sent.map(value => ({ key: 'k', value })) })
  await producer.disconnect()
  const found = await collect(kafka, topic, count, { fromBeginning: true, groupId: `group-${topic}` })
  assert.deepEqual(found.map(one => one.value).sort(), sent.sort())
  say({ read: found.length })
}

async function produce(seconds, rate) {
  const count = Math.floor(seconds * rate)
  const errors = []
  const sent = []
  let acknowledged = 0
  const producer = kafka.producer()
  await producer.connect()
  const begun = Date.now()
  for (let n = 0; n < count; n++) {
    await new Promise(go => setTimeout(go, Math.max(0, begun + (n / rate) * 1000 - Date.now())))
    sent.push(
      producer.send({ topic, messages: [{ value: `${n}` }] }).then(
        () => acknowledged++,
        error => errors.push(`${error.name}: ${error.message}`)
      )
    )
  }
  await Promise.all(sent)
  await producer.disconnect()
  say({ sent: count, acknowledged, errors: errors.slice(0, 20) })
}

async function main() {
  say({ version: require('kafkajs/package.json').version })
  await (what === 'produce' ? produce(Number(rest[0]), Number(rest[1])) : exchange(Number(rest[0])))
}

main().then(
  () => process.exit(0),
  error => {
    console.error(error)
    process.exit(1)
  }
)
