import type { Guard } from '../../ports.ts'

/** One guard of several reasons: the first that bars a signature is told. */
export function composeGuard(...reasons: readonly Guard['barred'][]): Guard {
  return {
    barred() {
      for (const reason of reasons) {
        const detail = reason()
        if (detail !== undefined) return detail
      }
      return undefined
    },
  }
}
