import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { encodePath, signed } from '../../../src/brokers/s3/sign.ts';
import { brokerFacts } from '../../support/brokers/broker.ts';
import {
  S3_KEY,
  S3_REGION,
  S3_STRANGER,
  type S3Facts,
  VersityServer,
} from '../../support/brokers/versity-server.ts';
import { Relay } from '../../support/servers/relay.ts';
import {
  type DestinationDriver,
  NO_SUCH_NAME,
  NO_TLS,
  type OwnTarget,
  type ReceivedMessage,
  type Target,
  unreachable,
} from './destination-driver.ts';

export async function s3Targets(): Promise<DestinationDriver | string> {
  const facts = await brokerFacts<S3Facts>('s3');
  if (typeof facts === 'string') return facts;
  return { open: () => openBucket(facts), startOwn, close: async () => undefined };
}

export interface StoredObject {
  key: string;
  headers: Record<string, string>;
  /** Not compressed any more. */
  content: Buffer;
}

/** `port`: where the service finds it. */
export async function openBucket(
  facts: S3Facts,
  port = facts.port,
): Promise<Target & { objects(): Promise<StoredObject[]> }> {
  const bucket = `tests-${randomUUID()}`;
  await mkdir(join(facts.directory, bucket));
  const broker = (s3: object) => ({
    type: 's3',
    s3: {
      bucket,
      prefix: 'events/',
      access_key_id: S3_KEY.id,
      secret_key: S3_KEY.secret,
      default_region: S3_REGION,
      endpoint: `http://127.0.0.1:${port}`,
      ...s3,
    },
  });
  const stored = new StoredObjects(facts, bucket);
  return {
    broker: broker({}),
    batch: { max_wait_seconds: 0 },
    refused: refusals(port, broker),
    overTls: (host, at) => broker({ endpoint: `https://${host}:${at}` }),
    objects: () => stored.all(),
    received: async () => (await stored.all()).flatMap(messagesIn),
  };
}

function refusals(port: number, broker: (s3: object) => object): Target['refused'] {
  const wrongKey = 'The broker refused the access key: check access_key_id and secret_key.';
  return [
    ...unreachable(
      broker({ endpoint: 'http://127.0.0.1:1' }),
      broker({ endpoint: `http://${NO_SUCH_NAME}` }),
    ),
    [broker({ endpoint: `https://127.0.0.1:${port}` }), 'tls_failed', NO_TLS],
    [broker({ secret_key: 'wrong' }), 'sign_in_refused', wrongKey],
    [broker({ access_key_id: 'AKIDNONE' }), 'sign_in_refused', wrongKey],
    [
      broker({ bucket: 'none' }),
      'target_not_found',
      'The bucket does not exist: check bucket, default_region and endpoint.',
    ],
    [
      broker({ default_region: 'us-east-1' }),
      'target_not_found',
      `The bucket is in the region ${S3_REGION}: set default_region to it.`,
    ],
    [
      broker({ access_key_id: S3_STRANGER.id, secret_key: S3_STRANGER.secret }),
      'not_permitted',
      'The access key has no right to put objects into the bucket. The broker answered: AccessDenied: Access Denied.',
    ],
  ];
}

/** The objects of a bucket, as the server gives them, in the order in which it stored them. */
class StoredObjects {
  readonly #facts: S3Facts;
  readonly #bucket: string;
  readonly #known = new Map<string, StoredObject>();

  constructor(facts: S3Facts, bucket: string) {
    this.#facts = facts;
    this.#bucket = bucket;
  }

  async all(): Promise<StoredObject[]> {
    const root = join(this.#facts.directory, this.#bucket);
    if (!existsSync(root)) return [];
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() && !path.includes('.sgwtmp') ? [path] : [];
    });
    const timed = await Promise.all(
      files.map(async (path) => ({ path, at: (await stat(path, { bigint: true })).mtimeNs })),
    );
    timed.sort((a, b) => (a.at < b.at ? -1 : 1));
    const objects: StoredObject[] = [];
    for (const { path, at } of timed) {
      const object = await this.#object(relative(root, path), String(at));
      if (object !== null) objects.push(object);
    }
    return objects;
  }

  /** Null: the server is away. */
  async #object(key: string, version: string): Promise<StoredObject | null> {
    const name = `${key} ${version}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const host = `127.0.0.1:${this.#facts.port}`;
    const path = `/${this.#bucket}/${encodePath(key)}`;
    const request = { method: 'GET', path, headers: { host }, body: Buffer.alloc(0) };
    const headers = signed(
      request,
      { ...S3_KEY, token: null },
      { region: S3_REGION, service: 's3', atMs: Date.now() },
    );
    const response = await fetch(`http://${host}${path}`, { headers }).catch(() => null);
    if (response?.status !== 200) return null;
    const content = gunzipSync(Buffer.from(await response.arrayBuffer()));
    const object = { key, headers: Object.fromEntries(response.headers), content };
    this.#known.set(name, object);
    return object;
  }
}

/** Each line is a message. The signature is that of the whole content. */
function messagesIn({ headers, content }: StoredObject): ReceivedMessage[] {
  const lines = content.toString().split('\n').slice(0, -1);
  const metadata = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith('x-amz-meta-') ? [[name.slice('x-amz-meta-'.length), value]] : [],
  );
  return lines.map((line) => {
    const { id, type } = JSON.parse(line) as { id: string; type: string };
    const data = line.slice(line.indexOf('"data":') + '"data":'.length, -1);
    return {
      body: Buffer.from(data),
      id,
      signed: content,
      headers: { ...Object.fromEntries(metadata), 'content-type': 'application/json', 'event-type': type },
      key: null,
    };
  });
}

async function startOwn(): Promise<OwnTarget> {
  const server = await VersityServer.start();
  const relay = await Relay.start(server.facts.port);
  return {
    target: await openBucket(server.facts, relay.port),
    connections: () => relay,
    kill: () => server.kill(),
    resume: () => server.resume(),
    mute: () => relay.mute(),
    unmute: () => relay.unmute(),
    stop: async () => {
      relay.close();
      await server.stop();
    },
  };
}
