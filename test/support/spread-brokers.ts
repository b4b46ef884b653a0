import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Spreads the tests against brokers over the others. They wait for 40 % of their time, so one after the other they leave
 * the machine idle. They do not come first, because the brokers are fetched then, nor last, because they are long.
 */
const FROM = 0.1;
const TO = 0.7;

export class SpreadBrokers extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const ofBrokers = sorted.filter(({ project }) => project.name === 'brokers');
    const others = sorted.filter(({ project }) => project.name !== 'brokers');
    const place = (n: number) => (FROM + ((TO - FROM) * n) / ofBrokers.length) * others.length;
    const cuts = [...ofBrokers.keys()].map((n) => Math.floor(place(n)));
    return [
      ...others.slice(0, cuts[0]),
      ...ofBrokers.flatMap((file, n) => [file, ...others.slice(cuts[n], cuts[n + 1])]),
    ];
  }
}
