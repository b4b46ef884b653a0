import { BrokerError } from '../module/broker-module.ts';
import { nestedErrors, networkReason } from '../module/network-error.ts';

/**
 * The client puts what happened into the text of an error: the method that failed, and the code and the words of the
 * broker. Here it is put into a sentence for the owner of the source. The first text that fits is taken.
 */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/^Handshake terminated by server: 403/, 'The broker refused the user name or the password.'],
  [
    /^Expected ConnectionOpenOk; got <ConnectionClose/,
    'The broker refused the virtual host: it does not exist, or the user may not use it.',
  ],
  [/^SASL mechanism/, 'The broker does not take a user name and a password.'],
  [/QueueDeclare; 403/, 'The queue does not exist, and the user may not create it.'],
  [/(QueueBind|ExchangeDeclare); 404/, 'The exchange that the queue is to be bound to does not exist.'],
  [/(QueueBind|ExchangeDeclare); 403/, 'The user may not bind the queue to the exchange.'],
  [/in exclusive use/, 'Another consumer has the queue for itself.'],
  [/RESOURCE_LOCKED/, 'The queue belongs to another connection.'],
  [/BasicConsume; 403/, 'The user may not read the queue.'],
  [/\b404 \(NOT-FOUND\)/, 'The queue was deleted.'],
  [
    /acknowledgement .* timed out/,
    'The broker took messages back, because they could not be stored for a long time.',
  ],
  [/Heartbeat timeout|ETIMEDOUT/, 'The broker does not answer.'],
  [
    /^Connection closed: 320/,
    'The broker closed the connection: it is shutting down, or an operator closed it.',
  ],
  [/wrong version number|packet length too long/i, 'The broker does not speak TLS on this port.'],
];

const NOT_AMQP =
  'The broker closed the connection before it was open: it may want TLS (schema amqps), or not speak AMQP 0-9-1.';

export function amqpError(error: unknown): Error {
  if (error instanceof BrokerError) return error;
  const { message } = error as Error;
  const text =
    TEXTS.find(([pattern]) => pattern.test(message))?.[1] ?? networkReason([...nestedErrors(error as Error)]);
  if (text !== undefined) return new BrokerError(text, { cause: error });
  // The words of the broker are in quotes.
  const said = /with message "(.*)"/s.exec(message)?.[1];
  if (said !== undefined) return new BrokerError(`The broker answered: ${said}.`, { cause: error });
  return new BrokerError('The broker closed the connection.', { cause: error });
}

/** The same, before the connection is open. */
export function connectError(error: unknown): Error {
  const { message, code } = error as Error & { code?: string };
  const isClosed = code === 'ECONNRESET' || code === 'EPIPE' || /abruptly|frame/i.test(message);
  return isClosed ? new BrokerError(NOT_AMQP, { cause: error }) : amqpError(error);
}
