import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the young generation as small as it starts: what reading a thousand files throws away must not widen the heap
 * for the months that follow.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
