export { Failures } from './failures.tsx';
