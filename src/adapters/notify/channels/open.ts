import { createHash } from 'node:crypto'
import type { Receiver } from '../../../domain/notify.ts'
import type { Channel, ChannelOptions } from './channel.ts'
import { discordChannel } from './discord.ts'
import { emailChannel } from './email.ts'
import { ntfyChannel } from './ntfy.ts'
import { slackChannel } from './slack.ts'
import { webhookChannel } from './webhook.ts'

const KEY_DIGITS = 16

/** The way to a receiver of the config. Nothing is sent yet. */
export async function openChannel(receiver: Receiver, options: ChannelOptions): Promise<Channel> {
  const as = { name: receiver.name, key: keyOf(receiver) }
  switch (receiver.kind) {
    case 'webhook':
      return webhookChannel(as, receiver.routing, options)
    case 'telegram': {
      // The client of the bot is loaded only where there is one.
      const { telegramChannel } = await import('./telegram.ts')
      return telegramChannel(as, receiver.routing, options)
    }
    case 'discord':
      return discordChannel(as, receiver.routing, options)
    case 'slack':
      return slackChannel(as, receiver.routing, options)
    case 'ntfy':
      return ntfyChannel(as, receiver.routing, options)
    case 'email':
      return emailChannel(as, receiver.routing, options)
  }
}

/**
 * Names a receiver by whom it reaches, so that what waits for it reaches nobody else when the config's lists change. A digest, cut:
 * the file of the outbox holds no address.
 */
function keyOf(receiver: Receiver): string {
  const { kind } = receiver
  const digest = createHash('sha256').update(JSON.stringify([kind, ...placeOf(receiver)]))
  return `${kind}-${digest.digest('hex').slice(0, KEY_DIGITS)}`
}

/** Without what may be exchanged while the receiver stays who it is, as far as that can be told apart. */
function placeOf(receiver: Receiver): readonly (string | number | undefined)[] {
  switch (receiver.kind) {
    case 'webhook':
    case 'discord':
    case 'slack':
      return [receiver.routing.url]
    case 'telegram': {
      const { token, chat, thread } = receiver.routing
      return [token.slice(0, token.indexOf(':')), chat, thread]
    }
    case 'ntfy':
      return [receiver.routing.server, receiver.routing.topic]
    case 'email': {
      const { smtp, from, to } = receiver.routing
      return [new URL(smtp).host, from, ...to]
    }
  }
}
