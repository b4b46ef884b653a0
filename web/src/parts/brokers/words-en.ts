type Said = Readonly<Record<string, string>>;

/** The words of the forms of brokers. Labels and hints of the fields are in their description, in English. */
export const brokerWords = {
  kind: 'Broker',
  none: 'None',
  optional: 'Optional.',
  kept: 'Stored and not shown. Leave it empty to keep it.',
  hidden: 'The settings of the broker are not shown. They stay as they are.',
  /** The step at which a message failed. */
  step: 'Failed at',
  steps: {
    name: 'Host name',
    connection: 'Connection',
    tls: 'TLS',
    sign_in: 'Sign-in',
    target: 'Topic, queue, exchange or bucket',
    rights: 'Rights',
    message: 'Message',
  },
  /** The result of the last message. */
  outcomes: {
    timeout: 'Your broker did not answer in time',
    connection_refused: 'Your broker refused the connection',
    connection_reset: 'Your broker closed the connection',
    unreachable: 'Your broker cannot be reached',
    dns_not_found: 'The host name of your broker does not exist',
    dns_failed: 'The host name of your broker could not be resolved',
    tls_failed: 'There was no TLS connection to your broker',
    address_blocked: 'Your broker is in a network that we do not send to',
    sign_in_refused: 'Your broker refused the user name or the key',
    target_not_found: 'The topic, queue, exchange or bucket does not exist',
    not_permitted: 'The user may not write there',
    unroutable: 'No queue takes messages with this routing key',
    message_too_large: 'The message is larger than your broker allows',
    message_unfit: 'The message does not fit the protocol of your broker',
    broker_refused: 'Your broker did not take the message',
    other: 'The message could not be sent',
  },
  /** By step, or by result where a step has several. */
  advice: {
    name: 'Check the spelling of the host.',
    address_blocked: 'Use an address that the internet can reach.',
    connection: 'Check the address and the port, that your broker runs, and that its firewall lets us in.',
    tls: 'Check that the port speaks TLS, and that the certificate is valid, complete and issued for this host.',
    sign_in: 'Check the user name and the password, or the key. With RabbitMQ check the virtual host too.',
    target: 'Create it, or correct its name in the settings of the endpoint.',
    unroutable: 'Bind a queue for this routing key, or correct the key in the settings of the endpoint.',
    rights: 'Give the user or the key the right to write there.',
    message_too_large: 'Allow larger messages in your broker, then send it again.',
    message_unfit: 'Its body or its headers have characters that the protocol cannot carry.',
    broker_refused: 'Look into the log of your broker at this time. A queue may be full.',
  },
  labels: {} as Said,
  hints: {} as Said,
};

export type BrokerWords = typeof brokerWords;
