export { Customer } from './customer.tsx';
