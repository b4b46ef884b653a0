import type { Channel, ChannelModel } from 'amqplib';
import type { AmqpSettings } from '../../domain/config/source.ts';

/** The broker closes a channel on which something failed: so each question has a channel of its own. */
async function inChannel<T>(model: ChannelModel, ask: (channel: Channel) => Promise<T>): Promise<T> {
  const channel = await model.createChannel();
  // The call that caused it fails too.
  channel.on('error', () => undefined);
  const answer = await ask(channel);
  await channel.close();
  return answer;
}

const NOT_FOUND = 404;

async function hasQueue(model: ChannelModel, queue: string): Promise<boolean> {
  try {
    await inChannel(model, (channel) => channel.checkQueue(queue));
    return true;
  } catch (error) {
    if ((error as { code?: number }).code === NOT_FOUND) return false;
    throw error;
  }
}

/**
 * Makes the queue where there is none, and the binding. A queue that exists stays as it is: the broker would refuse to
 * declare it with other arguments than it has.
 */
export async function openQueue(model: ChannelModel, settings: AmqpSettings): Promise<void> {
  const { queue, deadLetterExchange, bindedExchange, routingKey } = settings;
  const options = { durable: true, ...(deadLetterExchange !== null && { deadLetterExchange }) };
  if (!(await hasQueue(model, queue)))
    await inChannel(model, (channel) => channel.assertQueue(queue, options));
  if (bindedExchange !== null)
    await inChannel(model, (channel) => channel.bindQueue(queue, bindedExchange, routingKey));
}

/** Whether `openQueue` would have what it needs, and nothing is made. */
export async function checkQueue(
  model: ChannelModel,
  { queue, bindedExchange }: AmqpSettings,
): Promise<void> {
  await hasQueue(model, queue);
  if (bindedExchange !== null) await inChannel(model, (channel) => channel.checkExchange(bindedExchange));
}

/** Messages in it that no consumer has yet. */
export function countReady(channel: Channel, queue: string): Promise<number> {
  return channel.checkQueue(queue).then(({ messageCount }) => messageCount);
}

/**
 * AMQP gives a queue no id. The name of the cluster stays when another of its nodes is connected to, so a message that
 * comes again there is known. A deleted queue that is made again has its old name: their keys tell messages apart.
 */
export function streamOf(model: ChannelModel, { host, port, vhost, queue }: AmqpSettings): string {
  const { cluster_name: cluster } = model.connection.serverProperties as { cluster_name?: unknown };
  const broker = typeof cluster === 'string' && cluster !== '' ? cluster.slice(0, 200) : `${host}:${port}`;
  return [broker, vhost ?? '/', queue].map((name) => encodeURIComponent(name.toWellFormed())).join('/');
}
