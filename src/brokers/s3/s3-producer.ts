import { promisify } from 'node:util';
import { gzip as gzipWithCallback } from 'node:zlib';
import type { S3Destination } from '../../domain/config/destination.ts';
import { BrokerError } from '../module/broker-error.ts';
import type {
  BrokerMessageOut,
  DestinationModule,
  MessageLimit,
  MessageTo,
  Producer,
  Receipt,
} from '../module/producer.ts';
import { accessKeyOf, endpointOf, type Workload } from '../module/workload.ts';
import { objectKey } from './object-key.ts';
import { s3Address } from './s3-address.ts';
import { type Answer, S3Connection } from './s3-connection.ts';
import { partOf, refusalOf, s3Error } from './s3-error.ts';
import { encodePath, sha256, signed } from './sign.ts';

/**
 * Amazon S3, or a server with its protocol, as a destination. A message is one object. Its body is the content of the
 * object before compression: JSON, one value per line. It is stored when the server answers 200 and names its version of
 * the content (ETag). The server checks the hash of the content, which is signed and kept with the object. A message
 * that is sent again replaces its object by the same one.
 */
const gzip = promisify(gzipWithCallback);
const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** The server takes 2 KiB. */
const MAX_METADATA_BYTES = 1_900;
/** By which readers check the content, as they check a webhook. */
const METADATA = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];

export const s3Destination: DestinationModule<'s3'> = {
  connectionOf: ({ s3 }) => {
    const { prefix: _, ...connection } = s3;
    return connection;
  },
  open: async ({ s3: own }, context) => {
    try {
      const settings = { ...own, endpoint: endpointOf('s3', own, context.workload) };
      const connection = await S3Connection.open(s3Address(settings), context);
      return new S3Producer(settings, connection, context.workload);
    } catch (error) {
      throw s3Error(error);
    }
  },
};

interface Put {
  key: string;
  object: Buffer;
  headers: BrokerMessageOut['headers'];
  limit: MessageLimit;
}

class S3Producer implements Producer {
  readonly #settings: S3Destination;
  readonly #connection: S3Connection;
  readonly #workload: Workload;
  /** The server refuses a signature that is 15 minutes off. If this machine is, its time is corrected. */
  #clockOffsetMs = 0;
  address: string | null = null;

  constructor(settings: S3Destination, connection: S3Connection, workload: Workload) {
    this.#workload = workload;
    this.#settings = settings;
    this.#connection = connection;
  }

  async send({ destination, id, headers, body, limit }: MessageTo<'s3'>): Promise<Receipt> {
    if (body.length > MAX_BODY_BYTES)
      throw new BrokerError(`The message is larger than ${MAX_BODY_BYTES} bytes.`, {
        code: 'message_too_large',
      });
    const key = objectKey(destination.s3.prefix, id);
    const object = await gzip(body);
    try {
      const put = { key, object, headers, limit };
      let answer = await this.#put(put);
      if (this.#learnsTime(answer)) answer = await this.#put(put);
      return receiptOf(answer, { key, object });
    } catch (error) {
      throw s3Error(error);
    }
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  async #put({ key, object, headers, limit }: Put): Promise<Answer> {
    const accessKey = await accessKeyOf(this.#settings, this.#workload);
    const { default_region: region } = this.#settings;
    const { host, path: bucketPath } = s3Address(this.#settings);
    const path = `${bucketPath}/${encodePath(key)}`;
    const about = {
      host,
      'content-length': String(object.length),
      'content-type': 'application/gzip',
      'x-amz-checksum-sha256': sha256(object).toString('base64'),
      ...metadataOf(headers),
    };
    const scope = { region, service: 's3', atMs: Date.now() + this.#clockOffsetMs };
    const request = { method: 'PUT', path, headers: about, body: object };
    const exchange = { ...request, headers: signed(request, accessKey, scope) };
    const answer = await this.#connection.exchange(exchange, limit);
    this.address = answer.address;
    return answer;
  }

  /** True: the clock was the reason of the refusal, and is right now. */
  #learnsTime({ status, headers, text }: Answer): boolean {
    if (status !== 403 || partOf(text, 'Code') !== 'RequestTimeTooSkewed') return false;
    const serverMs = Date.parse(partOf(text, 'ServerTime') || (headers.date ?? ''));
    if (Number.isNaN(serverMs)) return false;
    this.#clockOffsetMs = serverMs - Date.now();
    return true;
  }
}

function receiptOf(answer: Answer, { key, object }: { key: string; object: Buffer }): Receipt {
  const { status, headers, address } = answer;
  if (status !== 200) throw refusalOf(answer);
  const { etag } = headers;
  if (etag === undefined)
    throw new BrokerError('The server answered without an ETag: it does not speak the protocol of S3.');
  const checksum = headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== sha256(object).toString('base64'))
    throw new BrokerError('The broker has stored something else than was sent.');
  const version = headers['x-amz-version-id'];
  return {
    address,
    facts: { object: key, etag, ...(typeof version === 'string' && { 'version-id': version }) },
  };
}

/** None if they have no room. */
function metadataOf(headers: BrokerMessageOut['headers']): Record<string, string> {
  const kept = headers.filter(([name]) => METADATA.includes(name));
  const bytes = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return bytes > MAX_METADATA_BYTES
    ? {}
    : Object.fromEntries(kept.map(([name, value]) => [`x-amz-meta-${name}`, value]));
}
