import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the young generation as small as it starts while files are read: what reading a thousand of them throws away must not
 * widen the heap before the daemon has done anything.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** Leaves it to V8 again: it widens under load, for what lives as long as an order should not be kept longer, and shrinks idle. */
export function letHeapGrow(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
