// SPDX-License-Identifier: MIT
// A client that we did not write: ioredis. Arguments: the port. Exits 0 if all is well.
const assert = require('assert');
const Redis = require('ioredis');

const map = (flat) => Object.fromEntries(
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], flat[2 * i + 1]]));

async function refuses(promise, code) {
  await assert.rejects(promise, (e) => e.name === 'ReplyError' && e.message.startsWith(code + ' '));
}

async function main(port) {
  const options = { port, host: '127.0.0.1', retryStrategy: null, maxRetriesPerRequest: 0 };
  const producer = new Redis(options); // with its ready check, as everybody has it
  const worker = new Redis(options);
  assert.strictEqual(await producer.ping(), 'PONG');

  // A waiting worker gets the job when it is due, not before. A machine that stalled is asked again.
  let id, job, late = [];
  do {
    const at = Date.now() + 400;
    const waiting = worker.call('LEASE', 'mail', 'WAIT', '20s');
    id = await producer.call('SCHEDULE', 'mail', 'hello', 'AT', at);
    job = map((await waiting)[0]);
    late.unshift(Date.now() - at);
    assert.strictEqual(job.id, id);
    assert.strictEqual(job.payload, 'hello');
    assert.strictEqual(Number(job.due_ms), at);
    assert(late[0] >= 0, `early by ${-late[0]} ms`);
    assert.strictEqual(await worker.call('COMPLETE', id, job.token, 'RESULT', 'sent'), 'OK');
    assert.strictEqual(map(await producer.call('GET', id)).result, 'sent');
  } while (late[0] >= 200 && late.length < 3);
  assert(late[0] < 200, `late by ${late} ms`);

  // 10,000 in a pipeline.
  const pipeline = producer.pipeline();
  for (let i = 0; i < 10000; i++) pipeline.call('SCHEDULE', 'bulk', `job ${i}`, 'IN', '1h');
  const ids = (await pipeline.exec()).map(([error, value]) => { assert.ifError(error); return value; });
  assert.strictEqual(new Set(ids).size, 10000);

  // Bytes come back as they were.
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const raw = await producer.call('SCHEDULE', 'bytes', bytes);
  const back = await producer.callBuffer('GET', raw);
  const index = back.findIndex((v) => Buffer.isBuffer(v) && v.toString() === 'payload');
  assert(bytes.equals(back[index + 1]));

  await refuses(producer.call('NOSUCH'), 'UNKNOWN');
  await refuses(producer.call('SCHEDULE', 'q', 'x', 'COLOUR', 'red'), 'INVALID');
  await refuses(producer.call('COMPLETE', '0'.repeat(26), 1), 'NOTFOUND');
  await refuses(worker.call('COMPLETE', id, job.token), 'STALE');

  await producer.quit();
  await worker.quit();
}

main(Number(process.argv[2])).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
setTimeout(() => { console.error('ioredis.js: not done after 80 s'); process.exit(2); }, 80000);
