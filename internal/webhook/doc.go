// Package webhook serves [admission.Taint.Review] over HTTPS with certificates that it makes and renews itself.
//
// # Keys
//
// A certificate authority and a serving certificate of its making lie in a Secret that all replicas share. Whichever
// replica sees first that something is due writes it; the others lose by the Secret's resource version and read again.
// [Keys.Renew] decides what is due, as a function of the keys and the time:
//
//   - the serving certificate is made anew when two thirds of its life have passed;
//   - a new authority is made when two thirds of the old one's life have passed. It is only published at first, beside the old
//     one. Once the API server has had time to hear of it, serving certificates are made by it. The old one stays published until it
//     ends, so that a replica that has not read the Secret yet is trusted, too;
//   - what is missing, damaged or expired is made anew at once.
//
// # The webhook configuration
//
// Of the MutatingWebhookConfiguration the webhook owns webhooks[].clientConfig.caBundle and nothing else, by server-side
// apply, so it never fights with whoever writes the rest. When the bundle is taken away it comes back at the next look.
//
// A certificate changes between handshakes: connections that are open stay open, and no request is lost.
package webhook
