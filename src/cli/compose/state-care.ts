import { backUp } from '../../adapters/state/care/backup.ts'
import { rebuildSnapshot } from '../../adapters/state/care/rebuild.ts'
import { restoreState } from '../../adapters/state/care/restore.ts'
import { isSound, proveState } from '../../adapters/state/care/state-proof.ts'

/** What the `state` commands do with a state directory. Whoever changes one holds its lock. */
export const STATE_CARE = {
  prove: proveState,
  isSound,
  rebuild: rebuildSnapshot,
  backUp,
  restore: restoreState,
} as const
