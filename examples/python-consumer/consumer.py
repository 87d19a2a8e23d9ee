# Writes the payments of a RabbitMQ queue into a table, each once. Needs pika, and jsonschema where SCHEMA is set.
import json, os, sqlite3
import pika

books = sqlite3.connect(os.environ["DATABASE"])
books.execute("CREATE TABLE IF NOT EXISTS paid (event_id TEXT PRIMARY KEY, order_id TEXT, amount TEXT)")
check = lambda event: None
if "SCHEMA" in os.environ:  # the path of payment.succeeded.json
    from jsonschema import Draft7Validator
    check = Draft7Validator(json.load(open(os.environ["SCHEMA"]))).validate

def take(channel, delivery, properties, body):
    try:
        message = json.loads(body)
        event = message["data"]
        if message["type"] != "payment.succeeded":  # not ours, or of a later release
            return channel.basic_ack(delivery.delivery_tag)
        check(event)
        row = (event["id"], event["orderId"], event["amount"])  # for sums Decimal(amount), never float
    except Exception as error:  # no further copy repairs it: put it aside
        print("put aside:", error, flush=True)
        return channel.basic_reject(delivery.delivery_tag, requeue=False)
    with books:  # commits; a copy of an event changes nothing
        books.execute("INSERT INTO paid VALUES (?, ?, ?) ON CONFLICT (event_id) DO NOTHING", row)
    channel.basic_ack(delivery.delivery_tag)  # after the commit: what failed before it comes again

channel = pika.BlockingConnection(pika.URLParameters(os.environ["RABBITMQ_URL"])).channel()
channel.basic_qos(prefetch_count=1)  # one at a time, so that the events of a bill stay in order
channel.basic_consume(os.environ["QUEUE"], take)
channel.start_consuming()
