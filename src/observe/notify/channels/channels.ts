import { discord } from './discord.ts'
import { email } from './email.ts'
import { ntfy } from './ntfy.ts'
import { slack } from './slack.ts'
import { telegram } from './telegram.ts'
import { webhook } from './webhook.ts'

/** All channels, by the key of their list under `notify` in the config. */
export const CHANNELS = { webhooks: webhook, telegram, discord, slack, ntfy, email }
