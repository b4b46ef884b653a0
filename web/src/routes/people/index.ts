export { Accounts } from './accounts.tsx';
export { People } from './people.tsx';
