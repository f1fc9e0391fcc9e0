"""The same clients for programs that block, with a reactor in a separate thread."""

from kafkatx.client.threads import Consumer, Producer

BROKER = "127.0.0.1:9092"

with Producer(bootstrap_servers=BROKER) as producer:
    on_the_way = [producer.send("numbers", b"%d" % number) for number in range(3)]
    print("offsets:", [future.result().offset for future in on_the_way])

with Consumer(bootstrap_servers=BROKER, group_id="sums", auto_offset_reset="earliest") as consumer:
    consumer.subscribe(["numbers"])
    total = 0
    for record in consumer:  # never ends, it waits
        total += int(record.value)
        if record.offset == 2:
            break
    print("total:", total)
