import { setFlagsFromString } from 'node:v8'

/** Keeps V8's young generation small: garbage of a thousand files that are read must not enlarge the heap for good. */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Lets the young generation grow under load, so that short-lived objects of an order are not promoted. */
export function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
