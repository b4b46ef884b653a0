import type { Socket } from 'node:net';
import { pipeline, type Readable, Transform } from 'node:stream';
import type { SQSClient } from '@aws-sdk/client-sqs';

/** The client would collect an answer of any size in memory. `sqsError` words the error, by its name. */
class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge';
}

/** The address of the server that answered last. */
export const answeredFrom = new WeakMap<SQSClient, string>();

export function limitAnswers(client: SQSClient, maxBytes: number): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args);
      const response = result.response as { body?: Readable & { socket?: Socket } };
      const { remoteAddress } = response.body?.socket ?? {};
      if (remoteAddress !== undefined) answeredFrom.set(client, remoteAddress);
      if (response.body !== undefined) response.body = limited(response.body, maxBytes);
      return result;
    },
    // Next to the connection, so that the client reads the limited body.
    { step: 'deserialize', priority: 'low', name: 'limitAnswers' },
  );
}

function limited(body: Readable, maxBytes: number): Readable {
  let bytes = 0;
  const limit = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > maxBytes) done(new AnswerTooLarge());
      else done(null, chunk);
    },
  });
  return pipeline(body, limit, () => undefined);
}
