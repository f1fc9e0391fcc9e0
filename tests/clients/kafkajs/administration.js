// What the client's admin is asked.
'use strict'

const assert = require('node:assert/strict')
const { ConfigResourceTypes } = require('kafkajs')
const { PARTITIONS, newName, values, until } = require('./shared')

async function withAdmin(kafka, ask) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}

const COPIES = Number(process.env.KAFKATX_COPIES || 1)

async function newTopic(kafka, configEntries = []) {
  const topic = newName('topic')
  const topics = [{ topic, numPartitions: PARTITIONS, replicationFactor: COPIES, configEntries }]
  await withAdmin(kafka, admin => admin.createTopics({ topics, waitForLeaders: true }))
  return topic
}

const partitions = async (admin, topic) => {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
  return topics[0].partitions.length
}

async function config(admin, type, name) {
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [{ type, name }] })
  assert.equal(resources[0].errorCode, 0)
  return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
}

const listed = async (admin, groupId) => (await admin.listGroups()).groups.some(group => group.groupId === groupId)

const HOUR = [{ name: 'retention.ms', value: '3600000' }]

function features(kafka, produce) {
  return {
    async 'create topics'() {
      const topic = await newTopic(kafka, HOUR)
      await withAdmin(kafka, async admin => {
        assert.ok((await admin.listTopics()).includes(topic))
        assert.equal(await partitions(admin, topic), PARTITIONS)
        assert.equal((await config(admin, ConfigResourceTypes.TOPIC, topic))['retention.ms'], '3600000')
      })
    },

    async configs() {
      const topic = await newTopic(kafka, HOUR)
      await withAdmin(kafka, async admin => {
        const configEntries = [{ name: 'max.message.bytes', value: '54321' }, ...HOUR]
        const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }]
        await admin.alterConfigs({ validateOnly: false, resources })
        const told = () => config(admin, ConfigResourceTypes.TOPIC, topic)
        await until('the change', async () => (await told())['max.message.bytes'] === '54321')
        assert.equal((await told())['retention.ms'], '3600000')
        const { brokers } = await admin.describeCluster()
        assert.ok('log.dirs' in (await config(admin, ConfigResourceTypes.BROKER, String(brokers[0].nodeId))))
      })
    },

    async 'create partitions'() {
      const topic = await newTopic(kafka)
      await withAdmin(kafka, async admin => {
        await admin.createPartitions({ topicPartitions: [{ topic, count: 8 }] })
        await until('8 partitions', async () => (await partitions(admin, topic)) === 8)
      })
    },

    async 'manage groups'() {
      const topic = await newTopic(kafka)
      const groupId = newName('group')
      const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 })
      await consumer.connect()
      await consumer.subscribe({ topics: [topic] })
      const joined = new Promise(resolve => consumer.on(consumer.events.GROUP_JOIN, resolve))
      await consumer.run({ eachMessage: async () => {} })
      await joined
      await withAdmin(kafka, async admin => {
        const described = async () => (await admin.describeGroups([groupId])).groups[0]
        assert.deepEqual([(await described()).state, (await described()).members.length], ['Stable', 1])
        await consumer.disconnect()
        await until('an empty group', async () => (await described()).state === 'Empty')
        await admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '5' }] })
        const told = await admin.fetchOffsets({ groupId, topics: [topic] })
        assert.equal(told[0].partitions.find(p => p.partition === 0).offset, '5')
        assert.ok(await listed(admin, groupId))
        await admin.deleteGroups([groupId])
        assert.ok(!(await listed(admin, groupId)))
      })
    },

    async 'delete records'() {
      const topic = await newTopic(kafka)
      await produce(topic, values('a'))
      await withAdmin(kafka, async admin => {
        await admin.fetchTopicOffsets(topic) // deleteTopicRecords wants the topic's metadata to be there
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '5' }] })
        const offsets = await admin.fetchTopicOffsets(topic)
        assert.equal(offsets.find(p => p.partition === 0).low, '5')
      })
    },

    async 'delete topics'() {
      const topic = await newTopic(kafka)
      await withAdmin(kafka, async admin => {
        await admin.deleteTopics({ topics: [topic] })
        await until('the topic is gone', async () => !(await admin.listTopics()).includes(topic))
      })
    },
  }
}

module.exports = { withAdmin, newTopic, features }
