export { Devices } from './devices.tsx';
