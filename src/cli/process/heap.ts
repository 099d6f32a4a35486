import { setFlagsFromString } from 'node:v8'

/** Keeps V8's young generation small while files are read: garbage of a thousand files must not widen the heap for good. */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Lets it grow again under load, so that short-lived objects of an order are not promoted. */
export function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
