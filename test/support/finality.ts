import type { FinalityRule } from '../../src/domain/settings.ts'

/** The newest block is final, according to one node. */
export const AT_ONCE: FinalityRule = { finality: 0, agree: 1 }
