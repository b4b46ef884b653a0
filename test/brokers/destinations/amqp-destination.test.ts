import { amqpTargets } from './amqp-target.ts';
import { destinationConformance } from './conformance.ts';

destinationConformance('amqp', amqpTargets);
