import type { Readable } from 'node:stream';
import type { Message } from '@platformatic/kafka';
import type { ReceivedMessage } from '../module/broker-module.ts';

/** The messages of one partition, in order, and the offset that follows them. */
export interface PartitionLot {
  partition: number;
  next: bigint;
  leaderEpoch: number;
  lot: ReceivedMessage[];
}

/** More are stored with the next lot. */
const MAX_MESSAGES = 500;
/** Numbers of 32 and 64 bits are padded to one length, so that they compare as texts. */
const EPOCH_DIGITS = 10;
const OFFSET_DIGITS = 19;

type KafkaMessage = Message;

/**
 * Takes from the stream of a consumer what is there. It listens to `readable` all the time: while nothing listens the
 * client fetches nothing, and does not begin again by itself.
 */
export class PartitionLots {
  readonly #stream: Readable;
  #news = Promise.withResolvers<void>();

  constructor(stream: Readable) {
    this.#stream = stream;
    const tell = () => this.#news.resolve();
    stream.on('readable', tell).on('end', tell).on('close', tell).on('error', tell);
  }

  /** At least one message. Null: the stream has ended. Throws the error that it ended with. */
  async next(): Promise<PartitionLot[] | null> {
    for (;;) {
      this.#news = Promise.withResolvers();
      const messages = this.#readAll();
      if (messages.length > 0) return lots(messages);
      const { errored, destroyed, readableEnded } = this.#stream;
      if (errored !== null) throw errored;
      if (destroyed || readableEnded) return null;
      await this.#news.promise;
    }
  }

  #readAll(): KafkaMessage[] {
    const messages: KafkaMessage[] = [];
    while (messages.length < MAX_MESSAGES) {
      const message = this.#stream.read() as KafkaMessage | null;
      if (message === null) break;
      messages.push(message);
    }
    return messages;
  }
}

function lots(messages: readonly KafkaMessage[]): PartitionLot[] {
  const byPartition = Map.groupBy(messages, ({ partition }) => partition);
  return [...byPartition].map(([partition, ofPartition]) => {
    const last = ofPartition.at(-1) as KafkaMessage;
    return {
      partition,
      next: last.offset + 1n,
      leaderEpoch: last.leaderEpoch,
      lot: ofPartition.map(received),
    };
  });
}

/**
 * The place of a message in its partition. The epoch grows with each change of leader. After a change that lost the end
 * of the log, new messages have offsets that were used before, and a higher epoch: they are after what was stored.
 */
export function positionKey({ leaderEpoch, offset }: Pick<KafkaMessage, 'leaderEpoch' | 'offset'>): string {
  // Messages of old formats have no epoch: -1.
  const epoch = String(Math.max(0, leaderEpoch)).padStart(EPOCH_DIGITS, '0');
  return `${epoch}/${String(offset).padStart(OFFSET_DIGITS, '0')}`;
}

function received(message: KafkaMessage): ReceivedMessage {
  const { key, value, headers } = message;
  return {
    key: positionKey(message),
    // A message without a value marks a deletion in a compacted topic.
    body: value ?? Buffer.alloc(0),
    headers: Object.fromEntries(
      [...headers].map(([name, text]) => [String(name), text === null ? '' : String(text)]),
    ),
    id: key === undefined || key === null || key.length === 0 ? null : String(key),
  };
}
