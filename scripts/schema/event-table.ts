import {
  EVENTS_USUAL,
  NOTIFY_EVENT_NAMES,
  NOTIFY_EVENTS,
  WEBHOOK_EVENTS_USUAL,
} from '../../src/domain/notify.ts'
import { rowOf } from './strategy-tables.ts'

/** The notification events as a table in Markdown: name, severity, default receivers, meaning. */
export function eventTable(): string {
  const rows = NOTIFY_EVENT_NAMES.map((event) => {
    const { meaning, severity } = NOTIFY_EVENTS[event]
    const others = EVENTS_USUAL.includes(event) ? 'all but webhooks' : 'none'
    const hears = WEBHOOK_EVENTS_USUAL.includes(event) ? 'all' : others
    return rowOf([`\`${event}\``, severity, hears, meaning])
  })
  return ['| event | severity | default receivers | |', '|---|---|---|---|', ...rows].join('\n')
}
