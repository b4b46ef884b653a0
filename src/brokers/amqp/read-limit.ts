import type { Socket } from 'node:net';
import { BrokerError } from '../module/broker-error.ts';

/**
 * Bounds what a broker may send to one who only publishes: a confirm for each message, a message that it cannot route, and
 * channels. The client collects a returned message in memory, whatever its announced length. So bytes that are neither may
 * be as many as those of the messages that are under way, which are in memory too, and SLACK_BYTES more.
 */
const SLACK_BYTES = 1_048_576;
/** A confirm has 21 bytes. */
const CONFIRM_BYTES = 64;
/** A broker opens a channel and closes it with no more bytes, the longest reason included. */
const CHANNEL_BYTES = 512;
const TOO_MUCH = 'The broker sent more than was sent to it.';

export class ReadLimit {
  #underWay = 0;
  #unexplained = 0;

  constructor(stream: Socket) {
    const read = stream.read.bind(stream);
    stream.read = (size) => {
      const chunk = read(size) as Buffer | null;
      this.#unexplained += chunk?.length ?? 0;
      if (this.#unexplained > this.#underWay + SLACK_BYTES) stream.destroy(new BrokerError(TOO_MUCH));
      return chunk;
    };
  }

  sent(bytes: number): void {
    this.#underWay += bytes;
  }

  channelEnded(): void {
    this.#explain(CHANNEL_BYTES);
  }

  returned(bytes: number): void {
    this.#explain(bytes);
  }

  /** Confirmed, or given up. */
  settled(bytes: number): void {
    this.#underWay -= bytes;
    this.#explain(CONFIRM_BYTES);
  }

  #explain(bytes: number): void {
    this.#unexplained = Math.max(0, this.#unexplained - bytes);
  }
}
