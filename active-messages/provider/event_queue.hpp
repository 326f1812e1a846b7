// A queue of connection events, which reliable datagram endpoints never have. Programs open one all the same.
#pragma once

#include <rdma/fi_eq.h>

namespace scope::provider {

int open_event_queue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** result, void* context);

}  // namespace scope::provider
