"""The training step in Python with PyTorch: the same networks, settings and resident batch as our trainer.

Channels-last, autocast to the precision of the job, fused SGD with Nesterov momentum, one thread per core, gradients
set to None; eager, or with torch.compile if the job has "compile", on the "device" of the job. With "host_time" the
time of a step ends when its work is queued on the device, and steps are counted instead of images. ResNet and
MobileNetV2 equal those of torchvision, which does not load with a CPU build of torch; the CIFAR network equals that of
unstarve/models/cifar_net.cpp.
"""

import itertools
import time

ENVIRONMENT = ""  # the interpreter that runs the harness
JOBS = ["train"]


def candidates(job):
    modes = ["default", "max-autotune"] if job.get("compile") and job.get("device") else ["default"]
    return [{"threads": job["cores"]} | ({"mode": mode} if mode != "default" else {}) for mode in modes]


def _conv_bn_relu(cin, cout, kernel=3, stride=1, relu=True):
    from torch import nn

    layers = [nn.Conv2d(cin, cout, kernel, stride, padding=3 if kernel == 7 else 0 if kernel == 1 else 1, bias=False),
              nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if relu else nn.Sequential(*layers)


def _resnet(classes, depths, bottleneck):
    from torch import nn

    expansion = 4 if bottleneck else 1

    class Block(nn.Module):
        def __init__(self, cin, width, stride):
            super().__init__()
            cout = width * expansion
            if bottleneck:
                layers = (_conv_bn_relu(cin, width, 1), _conv_bn_relu(width, width, 3, stride),
                          _conv_bn_relu(width, cout, 1, relu=False))
            else:
                layers = (_conv_bn_relu(cin, cout, 3, stride), _conv_bn_relu(cout, cout, relu=False))
            self.body = nn.Sequential(*layers)
            self.shortcut = _conv_bn_relu(cin, cout, 1, stride, relu=False) if stride != 1 or cin != cout else None
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x):
            y = self.body(x)
            y += x if self.shortcut is None else self.shortcut(x)
            return self.relu(y)

    blocks, cin = [], 64
    for width, stride, depth in zip((64, 128, 256, 512), (1, 2, 2, 2), depths, strict=True):
        for i in range(depth):
            blocks.append(Block(cin, width, stride if i == 0 else 1))
            cin = width * expansion
    return nn.Sequential(_conv_bn_relu(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(cin, classes))


def resnet18(classes):
    return _resnet(classes, (2, 2, 2, 2), bottleneck=False)


def resnet50(classes):
    return _resnet(classes, (3, 4, 6, 3), bottleneck=True)


def mobilenet_v2(classes):
    from torch import nn

    def conv_bn_relu6(cin, cout, kernel=3, stride=1, groups=1):
        return nn.Sequential(nn.Conv2d(cin, cout, kernel, stride, kernel // 2, groups=groups, bias=False),
                             nn.BatchNorm2d(cout), nn.ReLU6(inplace=True))

    class Block(nn.Module):
        def __init__(self, cin, cout, stride, expansion):
            super().__init__()
            hidden = cin * expansion
            self.skip = stride == 1 and cin == cout
            widen = [conv_bn_relu6(cin, hidden, 1)] if expansion != 1 else []
            self.body = nn.Sequential(*widen, conv_bn_relu6(hidden, hidden, 3, stride, hidden),
                                      nn.Conv2d(hidden, cout, 1, bias=False), nn.BatchNorm2d(cout))

        def forward(self, x):
            return x + self.body(x) if self.skip else self.body(x)

    layers, cin = [conv_bn_relu6(3, 32, 3, 2)], 32
    for expansion, cout, depth, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                           (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(depth):
            layers.append(Block(cin, cout, stride if i == 0 else 1, expansion))
            cin = cout
    return nn.Sequential(*layers, conv_bn_relu6(cin, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                         nn.Linear(1280, classes))


def cifar_net(classes):
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, body):
            super().__init__()
            self.body = body

        def forward(self, x):
            return x + self.body(x)

    return nn.Sequential(
        _conv_bn_relu(3, 32, kernel=4, stride=2),
        _conv_bn_relu(32, 64), nn.MaxPool2d(2),
        _conv_bn_relu(64, 128), Residual(nn.Sequential(_conv_bn_relu(128, 128), _conv_bn_relu(128, 128))),
        nn.MaxPool2d(2), _conv_bn_relu(128, 256),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(256, classes),
    )


class _TimedSteps:
    """An iterator whose items are steps; `seconds` is the time until the latest one was queued."""

    def __init__(self, step, synchronise, batch):
        self.step, self.synchronise, self.batch, self.seconds = step, synchronise, batch, 0.0

    def __next__(self):
        self.synchronise()
        start = time.perf_counter()
        self.step()
        self.seconds = time.perf_counter() - start
        return self.batch


# As in bench/ours/train_side.cpp.
QUEUED_STEPS = 16


def batches(job, settings):
    import torch

    device = job.get("device", "cpu")
    on_gpu = device != "cpu"
    torch.backends.cudnn.benchmark = on_gpu
    torch.set_num_threads(settings["threads"])
    torch.manual_seed(job["seed"])
    networks = {"resnet18": resnet18, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "cifar_net": cifar_net}
    network = networks[job["model"]](job["classes"])
    network = network.to(device, memory_format=torch.channels_last).train()
    images = torch.empty(job["batch"], 3, job["image_size"], job["image_size"]).uniform_(-2, 2)
    images = images.to(device, memory_format=torch.channels_last)
    labels = torch.randint(job["classes"], (job["batch"],)).to(device)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=5e-4,
                                fused=True)
    mixed = job["precision"] != "float32"
    precision = getattr(torch, job["precision"])

    def forward(inputs, targets):
        with torch.autocast(device, dtype=precision if mixed else torch.bfloat16, enabled=mixed):
            return torch.nn.functional.cross_entropy(network(inputs), targets)

    if job.get("compile"):
        forward = torch.compile(forward, mode=settings.get("mode", "default"))

    def step():
        forward(images, labels).backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    def synchronise():
        if on_gpu:
            torch.cuda.synchronize()

    if job.get("host_time"):
        for _ in range(5):
            step()
        return _TimedSteps(step, synchronise, (images, labels))
    return _steps(step, synchronise, (images, labels))


def _steps(step, synchronise, batch):
    for number in itertools.count(1):
        step()
        if number % QUEUED_STEPS == 0:
            synchronise()
        yield batch
