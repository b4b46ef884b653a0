import { brokerError, type Reason, worded } from '../module/broker-error.ts';
import { NO_ANSWER, networkReason } from '../module/network-error.ts';

/**
 * The client puts what happened into the text of an error: the method that failed, and the code and the words of the
 * broker. Here it is put into a sentence for the owner of the source. The first text that fits is taken.
 */
const TEXTS: readonly (readonly [RegExp, Reason])[] = [
  [
    /^Handshake terminated by server: 403/,
    ['sign_in_refused', 'The broker refused the user name or the password: check auth.'],
  ],
  [
    /^Expected ConnectionOpenOk; got <ConnectionClose/,
    [
      'sign_in_refused',
      'The broker refused the virtual host: it does not exist, or the user may not use it.',
    ],
  ],
  [/^SASL mechanism/, ['sign_in_refused', 'The broker does not take a user name and a password.']],
  [/QueueDeclare; 403/, ['not_permitted', 'The queue does not exist, and the user may not create it.']],
  [
    /(QueueBind|ExchangeDeclare); 404/,
    ['target_not_found', 'The exchange that the queue is to be bound to does not exist.'],
  ],
  [/(QueueBind|ExchangeDeclare); 403/, ['not_permitted', 'The user may not bind the queue to the exchange.']],
  [/in exclusive use/, ['broker_refused', 'Another consumer has the queue for itself.']],
  [/RESOURCE_LOCKED/, ['broker_refused', 'The queue belongs to another connection.']],
  [/BasicConsume; 403/, ['not_permitted', 'The user may not read the queue.']],
  [/\b404 \(NOT-FOUND\)/, ['target_not_found', 'The queue was deleted.']],
  [
    /acknowledgement .* timed out/,
    ['broker_refused', 'The broker took messages back, because they could not be stored for a long time.'],
  ],
  [/Heartbeat timeout|ETIMEDOUT/, NO_ANSWER],
  [
    /^Connection closed: 320/,
    ['connection_reset', 'The broker closed the connection: it is shutting down, or an operator closed it.'],
  ],
];

const CLOSED: Reason = ['connection_reset', 'The broker closed the connection.'];
const NOT_AMQP: Reason = [
  'tls_failed',
  'The broker closed the connection before it was open: it may want TLS (schema amqps), or not speak AMQP 0-9-1.',
];

export const amqpError = (error: unknown): Error =>
  worded(error, (parts) => {
    const { message } = error as Error;
    const known = TEXTS.find(([pattern]) => pattern.test(message))?.[1] ?? networkReason(parts);
    // The words of the broker are in quotes.
    const said = /with message "(.*)"/s.exec(message)?.[1];
    return known ?? (said === undefined ? CLOSED : ['broker_refused', `The broker answered: ${said}.`]);
  });

/** The error of a connection that did not open. */
export function connectError(error: unknown): Error {
  const { message, code } = error as Error & { code?: string };
  const isClosed = code === 'ECONNRESET' || code === 'EPIPE' || /abruptly|frame/i.test(message);
  return isClosed ? brokerError(NOT_AMQP, error) : amqpError(error);
}
