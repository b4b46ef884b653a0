type Said = Readonly<Record<string, string>>;

/** The words of the forms of brokers. Labels and hints of the fields are in their description, in English. */
export const brokerWords = {
  kind: 'Broker',
  none: 'None',
  ownKey: 'The key below',
  kept: 'Stored and not shown. Leave it empty to keep it.',
  hidden: 'The settings of the broker are not shown. They stay as they are.',
  labels: {} as Said,
  hints: {} as Said,
};

export type BrokerWords = typeof brokerWords;
