import { destinationConformance } from './conformance.ts';
import { kafkaTargets } from './kafka-target.ts';

destinationConformance('kafka', kafkaTargets);
