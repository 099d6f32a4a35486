import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the young generation as small as it starts: what reading a thousand files throws away must not widen the heap
 * for the months that follow. To be said again once a thread was started: V8 sets the flag of the whole process back to 2
 * for each, and the main thread's young generation then grows to 16 MiB, which no cache of the processor holds.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
