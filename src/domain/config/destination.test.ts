import { expect, test } from 'vitest';
import { type Destination, destinationUrl } from './destination.ts';

test.each<[object, string]>([
  [{ type: 'kafka', kafka: { brokers: ['u:p@a:1', 'b:2'], topic: 't' } }, 'kafka://a:1,b:2/t'],
  [{ type: 'sqs', sqs: { endpoint: 'https://u:p@h:1/x?key=p', queue_name: 'q' } }, 'sqs://h:1/q'],
  [{ type: 's3', s3: { endpoint: 'https://u:p@h/x?key=p', bucket: 'b', prefix: '' } }, 's3://h/x/b/'],
  [
    { type: 'google', google: { endpoint: 'https://u:p@h/?key=p', project_id: 'p', topic_id: 't' } },
    'pubsub://h/projects/p/topics/t',
  ],
])('an address for people has no credential that was stored in it: %j', (destination, url) => {
  expect(destinationUrl(destination as Destination)).toBe(url);
});
