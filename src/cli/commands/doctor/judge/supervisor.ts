import type { SupervisorSight } from '../../../../adapters/supervisor.ts'
import { receiversOf } from '../../../../domain/notify.ts'
import type { Settings } from '../../../../domain/settings.ts'
import { type Check, fine, unknown, warning } from '../check.ts'

/** A drain takes 25 s at most, with what comes after it. */
const KILL_TIMEOUT_MS_MIN = 40_000
/** Of pm2 where nobody says otherwise. */
const KILL_TIMEOUT_MS_PM2 = 1_600

/** Who starts the daemon again; `sight` is undefined where no daemon runs on this machine. */
export function judgeSupervisor(sight: SupervisorSight | undefined): readonly Check[] {
  if (sight === undefined)
    return [
      unknown('supervisor', 'no daemon runs here, so it is not known what would start one again'),
    ]
  switch (sight.kind) {
    case 'pm2':
      return [fine('supervisor', 'pm2 runs the daemon'), judgeTimeout(sight), judgeSaved(sight)]
    case 'systemd':
      return [fine('supervisor', 'systemd runs the daemon')]
    case 'unseen':
      return [
        unknown(
          'supervisor',
          'neither pm2 nor systemd is seen behind the daemon',
          'nothing, where something else starts it again; else `npx pm2 start ecosystem.config.cjs`',
        ),
      ]
    case 'hidden':
      return [
        unknown(
          'supervisor',
          'what is behind the daemon is not known: its process may not be looked at',
        ),
      ]
  }
}

function judgeTimeout({ killTimeoutMs = KILL_TIMEOUT_MS_PM2 }: SupervisorSight): Check {
  const text = `pm2 waits ${Math.round(killTimeoutMs / 100) / 10} s before it kills`
  if (killTimeoutMs >= KILL_TIMEOUT_MS_MIN) return fine('pm2-kill-timeout', text)
  return warning(
    'pm2-kill-timeout',
    `${text}, and orders in flight take up to ${KILL_TIMEOUT_MS_MIN / 1_000} s to end`,
    '`kill_timeout: 40_000` in ecosystem.config.cjs, then `pm2 startOrRestart ecosystem.config.cjs`',
  )
}

function judgeSaved({ isSaved }: SupervisorSight): Check {
  if (isSaved === true) return fine('pm2-saved', 'pm2 has saved it, for when the machine restarts')
  const what = isSaved === undefined ? 'pm2 has saved nothing' : 'pm2 has not saved the daemon'
  return warning(
    'pm2-saved',
    `${what}: it does not come back when the machine restarts`,
    '`pm2 save`; and once `pm2 startup`, which says what to run',
  )
}

/** Who is told of what happens. Nothing is sent. */
export function judgeNotify({ mode, notify }: Pick<Settings, 'mode' | 'notify'>): readonly Check[] {
  const receivers = receiversOf(notify)
  const names = receivers.map(({ name }) => name)
  if (receivers.length === 0)
    return [
      mode === 'live'
        ? warning('receivers', 'nobody is told of anything', 'docs/notifications.md shows how')
        : fine('receivers', `nobody is told of anything, in mode ${mode}`),
    ]
  const told = fine('receivers', `${names.join(', ')}: configured, and nothing was sent`)
  if (notify.heartbeat !== undefined) return [told, fine('heartbeat', 'a monitor hears of silence')]
  return [
    told,
    warning(
      'heartbeat',
      'no monitor is told that all is well, so nobody hears of silence',
      '`notify.heartbeat`: docs/notifications.md',
    ),
  ]
}
