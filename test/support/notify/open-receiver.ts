import { notifySchema, receiversOf } from '../../../src/config/settings/notify.ts'
import type { Channel, ChannelOptions } from '../../../src/observe/notify/channels/channel.ts'
import type { CHANNELS } from '../../../src/observe/notify/channels/channels.ts'

/** Opens the channel to one receiver, given in config form: its list's key and its settings, every scalar as text. */
export async function openReceiver(
  key: keyof typeof CHANNELS,
  settings: object,
  options: ChannelOptions,
): Promise<Channel> {
  const [receiver] = receiversOf(notifySchema.parse({ [key]: [settings] }))
  if (receiver === undefined) throw new Error(`no receiver under ${key}`)
  return receiver.open(options)
}
