import { conformance } from './conformance.ts';
import { sqsDriver } from './sqs-driver.ts';

conformance('Amazon SQS', {
  broker: 'sqs',
  start: sqsDriver,
  isOrdered: false,
  takesBytes: false,
  maxHeld: 100,
});
